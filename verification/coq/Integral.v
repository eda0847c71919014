(* An integral is used here only through being linear and positive on a class of functions that is closed
   under linear combinations and positive parts.  Nothing about measures, and nothing about Gaussian
   densities, enters any proof about privacy; finite sums are one instance. *)

From Coq Require Import Reals Lra List.
Import ListNotations.
Open Scope R_scope.

Definition pos (r : R) : R := Rmax 0 r.
Global Arguments pos : simpl never.

Lemma pos_nonneg r : 0 <= pos r.
Proof. apply Rmax_l. Qed.

Lemma pos_ge r : r <= pos r.
Proof. apply Rmax_r. Qed.

Lemma pos_least r b : 0 <= b -> r <= b -> pos r <= b.
Proof. intros; apply Rmax_lub; assumption. Qed.

Lemma pos_mono r s : r <= s -> pos r <= pos s.
Proof. intros; apply pos_least; [ apply pos_nonneg | pose proof (pos_ge s); lra ]. Qed.

Lemma pos_of_nonneg r : 0 <= r -> pos r = r.
Proof. intros; apply Rmax_right; assumption. Qed.

Lemma pos_of_nonpos r : r <= 0 -> pos r = 0.
Proof. intros; apply Rmax_left; assumption. Qed.

Lemma pos_add r s : pos (r + s) <= pos r + pos s.
Proof.
  pose proof (pos_nonneg r); pose proof (pos_nonneg s); pose proof (pos_ge r); pose proof (pos_ge s).
  apply pos_least; lra.
Qed.

Lemma pos_scale c r : 0 <= c -> pos (c * r) = c * pos r.
Proof. intros; unfold pos; rewrite <- RmaxRmult by assumption; now rewrite Rmult_0_r. Qed.

Lemma pos_opp r : pos r = r + pos (- r).
Proof.
  destruct (Rle_dec 0 r).
  - rewrite pos_of_nonneg, pos_of_nonpos by lra; lra.
  - rewrite pos_of_nonpos, pos_of_nonneg by lra; lra.
Qed.

(* Finite sums over lists. *)
Fixpoint lsum {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: l' => f a + lsum f l' end.

Section Sums.
  Context {A : Type}.
  Implicit Types (f g : A -> R) (l : list A).

  Lemma lsum_ext f g l : (forall a, In a l -> f a = g a) -> lsum f l = lsum g l.
  Proof. induction l; simpl; intros H; [ easy | ]. rewrite H, IHl; auto. Qed.

  Lemma lsum_le f g l : (forall a, In a l -> f a <= g a) -> lsum f l <= lsum g l.
  Proof. induction l; simpl; intros H; [ lra | ]. apply Rplus_le_compat; auto. Qed.

  Lemma lsum_nonneg f l : (forall a, In a l -> 0 <= f a) -> 0 <= lsum f l.
  Proof. induction l; simpl; intros H; [ lra | ]. apply Rplus_le_le_0_compat; auto. Qed.

  Lemma lsum_plus f g l : lsum (fun a => f a + g a) l = lsum f l + lsum g l.
  Proof. induction l; simpl; [ | rewrite IHl ]; lra. Qed.

  Lemma lsum_scal c f l : lsum (fun a => c * f a) l = c * lsum f l.
  Proof. induction l; simpl; [ | rewrite IHl ]; lra. Qed.

  Lemma lsum_app f l l' : lsum f (l ++ l') = lsum f l + lsum f l'.
  Proof. induction l; simpl; [ | rewrite IHl ]; lra. Qed.

  Lemma lsum_const c l : lsum (fun _ => c) l = INR (length l) * c.
  Proof. induction l; [ simpl; lra | ]. cbn [lsum length]. rewrite S_INR, IHl; lra. Qed.
End Sums.

Lemma lsum_map {A B} (h : A -> B) (f : B -> R) l : lsum f (map h l) = lsum (fun a => f (h a)) l.
Proof. induction l; simpl; [ | rewrite IHl ]; lra. Qed.

Lemma lsum_swap {A B} (f : A -> B -> R) l l' :
  lsum (fun a => lsum (f a) l') l = lsum (fun b => lsum (fun a => f a b) l) l'.
Proof.
  induction l; simpl.
  - induction l'; simpl; lra.
  - rewrite IHl, <- lsum_plus; reflexivity.
Qed.

Record integral (X : Type) : Type := Integral {
  intg : (X -> R) -> Prop; (* which functions are integrable *)
  int : (X -> R) -> R; (* the integral, without meaning on other functions *)
  intg_zero : intg (fun _ => 0);
  intg_ext : forall f g, (forall x, f x = g x) -> intg f -> intg g;
  intg_lin : forall a b f g, intg f -> intg g -> intg (fun x => a * f x + b * g x);
  intg_pos : forall f, intg f -> intg (fun x => pos (f x));
  int_lin : forall a b f g, intg f -> intg g -> int (fun x => a * f x + b * g x) = a * int f + b * int g;
  int_nonneg : forall f, intg f -> (forall x, 0 <= f x) -> 0 <= int f
}.
Arguments intg {X} _ _.
Arguments int {X} _ _.

Section Integral.
  Context {X : Type} (I : integral X).
  Implicit Types f g : X -> R.

  Lemma int_le f g : intg I f -> intg I g -> (forall x, f x <= g x) -> int I f <= int I g.
  Proof.
    intros Hf Hg H.
    pose proof (int_lin _ I 1 (-1) g f Hg Hf) as E.
    assert (0 <= int I (fun x => 1 * g x + -1 * f x)).
    { apply int_nonneg; [ now apply intg_lin | ]. intro x; pose proof (H x); lra. }
    lra.
  Qed.

  Lemma int_ext f g : intg I f -> (forall x, f x = g x) -> int I f = int I g.
  Proof.
    intros Hf H. pose proof (intg_ext _ I f g H Hf) as Hg.
    apply Rle_antisym; apply int_le; auto; intro x; rewrite H; lra.
  Qed.

  Lemma intg_scal c f : intg I f -> intg I (fun x => c * f x).
  Proof.
    intro Hf. eapply intg_ext; [ | exact (intg_lin _ I c 0 f f Hf Hf) ]. intro x; cbv beta; lra.
  Qed.

  Lemma int_scal c f : intg I f -> int I (fun x => c * f x) = c * int I f.
  Proof.
    intro Hf. rewrite (int_ext _ (fun x => c * f x + 0 * f x)).
    - rewrite (int_lin _ I c 0 f f Hf Hf); lra.
    - now apply intg_scal.
    - intro x; lra.
  Qed.

  Lemma intg_plus f g : intg I f -> intg I g -> intg I (fun x => f x + g x).
  Proof.
    intros Hf Hg. eapply intg_ext; [ | exact (intg_lin _ I 1 1 f g Hf Hg) ]. intro x; cbv beta; lra.
  Qed.

  Lemma int_plus f g : intg I f -> intg I g -> int I (fun x => f x + g x) = int I f + int I g.
  Proof.
    intros Hf Hg. rewrite (int_ext _ (fun x => 1 * f x + 1 * g x)).
    - rewrite (int_lin _ I 1 1 f g Hf Hg); lra.
    - now apply intg_plus.
    - intro x; lra.
  Qed.

  Lemma int_zero : int I (fun _ => 0) = 0.
  Proof.
    pose proof (intg_zero _ I) as H0. rewrite (int_ext _ (fun x => 0 * 0)); [ | exact H0 | intros; lra ].
    rewrite (int_scal 0 (fun _ => 0)) by exact H0; lra.
  Qed.

  Lemma intg_sum {A} (F : A -> X -> R) l :
    (forall a, In a l -> intg I (F a)) -> intg I (fun x => lsum (fun a => F a x) l).
  Proof.
    induction l; simpl; intro H; [ apply intg_zero | ]. apply (intg_plus (F a)); auto.
  Qed.

  Lemma int_sum {A} (F : A -> X -> R) l :
    (forall a, In a l -> intg I (F a)) ->
    int I (fun x => lsum (fun a => F a x) l) = lsum (fun a => int I (F a)) l.
  Proof.
    induction l; simpl; intro H; [ apply int_zero | ].
    rewrite (int_plus (F a)); [ rewrite IHl; auto | auto | ]. apply intg_sum; auto.
  Qed.
End Integral.

(* A probability: constants are integrable, and the integral of 1 is 1. *)
Definition expectation {X} (E : integral X) : Prop := intg E (fun _ => 1) /\ int E (fun _ => 1) = 1.

Lemma int_const {X} (E : integral X) c : expectation E -> intg E (fun _ => c) /\ int E (fun _ => c) = c.
Proof.
  intros (H1 & H2). assert (H : intg E (fun _ => c * 1)) by now apply (intg_scal E c (fun _ => 1)).
  split.
  - eapply intg_ext; [ | exact H ]. intros; simpl; ring.
  - transitivity (int E (fun _ => c * 1)).
    + symmetry; apply int_ext; [ exact H | intros; ring ].
    + rewrite (int_scal E c (fun _ => 1)), H2 by assumption; ring.
Qed.

(* Finite weighted sums are an integral, for which every function is integrable. *)
Definition finite_integral {X} (points : list (R * X)) (H : forall wx, In wx points -> 0 <= fst wx) : integral X.
Proof.
  refine (Integral X (fun _ => True) (fun f => lsum (fun wx => fst wx * f (snd wx)) points) _ _ _ _ _ _); auto.
  - intros a b f g _ _. rewrite <- !lsum_scal, <- lsum_plus. apply lsum_ext; intros; lra.
  - intros f _ Hf. apply lsum_nonneg; intros wx Hw. apply Rmult_le_pos; auto.
Defined.
