(* T adaptive releases: each has a density that may depend in any way on all releases before it. If every single step is
   dominated by a short list of profiles, T steps are dominated by the recursion that multiplies by the worst of them. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Import Integral HockeyStick Profiles.
Import ListNotations.
Open Scope R_scope.

(* Releases are kept newest first: p h x is the density of the next release x given the past h. *)
Fixpoint iterated {X} (I : integral X) (k : nat) (h : list X) (f : list X -> R) : R :=
  match k with O => f h | S k' => int I (fun x => iterated I k' (x :: h) f) end.

Fixpoint joint {X} (p : list X -> X -> R) (h : list X) : R :=
  match h with [] => 1 | x :: h' => joint p h' * p h' x end.

(* The inner integrals are integrable, for this function and T releases. *)
Definition sections {X} (I : integral X) (T : nat) (f : list X -> R) : Prop :=
  forall k h, (length h + S k = T)%nat -> intg I (fun x => iterated I k (x :: h) f).

(* H_y of the joint laws of T releases. *)
Definition composed {X} (I : integral X) (T : nat) (y : R) (p q : list X -> X -> R) : R :=
  iterated I T [] (fun h => pos (joint p h - y * joint q h)).

Definition density {X} (I : integral X) (p : X -> R) : Prop :=
  (forall x, 0 <= p x) /\ intg I p /\ int I p = 1.

(* The step p, q lies below a mixture of the profiles K 0 .. K (N-1) and of no loss at all, up to tau. *)
Definition dominated {X} (I : integral X) (N : nat) (K : nat -> profile) (tau : R) (p q : X -> R) : Prop :=
  exists lam : nat -> R, (forall i, 0 <= lam i) /\ lsum lam (seq 0 N) <= 1 /\
  forall y, 0 < y -> hockey I y p q
    <= lsum (fun i => lam i * value (K i) y) (seq 0 N) + (1 - lsum lam (seq 0 N)) * pos (1 - y) + tau.

Lemma joint_nonneg {X} (p : list X -> X -> R) h : (forall h x, 0 <= p h x) -> 0 <= joint p h.
Proof. intro H; induction h; simpl; [ lra | now apply Rmult_le_pos ]. Qed.

Section Iterated.
  Context {X : Type} (I : integral X).

  Lemma iterated_le k h f g : sections I (length h + k) f -> sections I (length h + k) g ->
    (forall h, f h <= g h) -> iterated I k h f <= iterated I k h g.
  Proof.
    revert h; induction k as [ | k IH ]; intros h Hf Hg H; simpl; [ apply H | ].
    apply int_le; [ apply Hf; lia | apply Hg; lia | ]. intro x.
    apply IH; simpl; rewrite <- ?plus_n_Sm in *; assumption.
  Qed.

  Lemma iterated_lin k h a b f g : sections I (length h + k) f -> sections I (length h + k) g ->
    iterated I k h (fun h => a * f h + b * g h) = a * iterated I k h f + b * iterated I k h g.
  Proof.
    revert h; induction k as [ | k IH ]; intros h Hf Hg; simpl; [ reflexivity | ].
    assert (Hf' := Hf k h eq_refl). assert (Hg' := Hg k h eq_refl).
    rewrite <- (int_lin _ I) by assumption. symmetry. apply int_ext; [ now apply intg_lin | ].
    intro x. symmetry. apply IH; simpl; rewrite <- ?plus_n_Sm in *; assumption.
  Qed.

  Lemma sections_lin T a b f g : sections I T f -> sections I T g -> sections I T (fun h => a * f h + b * g h).
  Proof.
    intros Hf Hg k h Hk. eapply intg_ext; [ | exact (intg_lin _ I a b _ _ (Hf k h Hk) (Hg k h Hk)) ].
    intro x. symmetry. apply iterated_lin; simpl; rewrite plus_n_Sm, Hk; assumption.
  Qed.
End Iterated.

(** Settles: TESTS, COMPOSITION. Also for T adaptive releases the divergence bounds the advantage of
    every test of all of them together. *)
Theorem composed_bounds_every_test :
  forall {X : Type} (I : integral X) (T : nat) (y : R) (p q : list X -> X -> R) (phi : list X -> R),
  (forall h, 0 <= phi h <= 1) ->
  sections I T (fun h => joint p h * phi h) -> sections I T (fun h => joint q h * phi h) ->
  sections I T (fun h => pos (joint p h - y * joint q h)) ->
  iterated I T [] (fun h => joint p h * phi h) - y * iterated I T [] (fun h => joint q h * phi h)
  <= composed I T y p q.
Proof.
  intros X I T y p q phi Hphi Sp Sq S.
  replace (_ - _) with (1 * iterated I T [] (fun h => joint p h * phi h)
    + - y * iterated I T [] (fun h => joint q h * phi h)) by ring.
  rewrite <- (iterated_lin I) by assumption. apply iterated_le; [ now apply sections_lin | assumption | ].
  intro h. pose proof (Hphi h). set (d := joint p h - y * joint q h).
  pose proof (pos_nonneg d); pose proof (pos_ge d).
  replace (1 * _ + _) with (phi h * d) by (unfold d; ring).
  apply Rle_trans with (phi h * pos d); [ apply Rmult_le_compat_l; lra | ].
  rewrite <- (Rmult_1_l (pos d)) at 2. apply Rmult_le_compat_r; lra.
Qed.

(* a F(b/a), written so that a = 0 is no exception. *)
Definition homogeneous (F : profile) (a b : R) : R :=
  base F * a + lsum (fun v => fst v * pos (a - b / snd v)) (atoms F).

Lemma homogeneous_zero F b : proper F -> 0 <= b -> homogeneous F 0 b = 0.
Proof.
  intros (_ & HF & _) Hb. unfold homogeneous. rewrite (lsum_ext _ (fun _ => 0)).
  - rewrite lsum_const; ring.
  - intros v Hv. rewrite pos_of_nonpos; [ ring | ]. destruct (HF v Hv).
    assert (0 <= b / snd v) by (apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]). lra.
Qed.

Lemma homogeneous_value F a b : 0 < a -> proper F -> homogeneous F a b = a * value F (b / a).
Proof.
  intros Ha (_ & HF & _). unfold homogeneous, value. rewrite Rmult_plus_distr_l, <- lsum_scal.
  f_equal; [ ring | ]. apply lsum_ext; intros v Hv. destruct (HF v Hv).
  replace (a - b / snd v) with (a * (1 - b / a / snd v)) by (field; lra). rewrite pos_scale by lra; ring.
Qed.

Section Step.
  Context {X : Type} (I : integral X) (p q : X -> R) (Dp : density I p) (Dq : density I q).

  Lemma intg_homogeneous F a b : intg I (fun x => homogeneous F (a * p x) (b * q x)).
  Proof.
    destruct Dp as (_ & Hp & _), Dq as (_ & Hq & _). unfold homogeneous. apply intg_plus.
    - now apply intg_scal, intg_scal.
    - apply (intg_sum I (fun v x => fst v * pos (a * p x - b * q x / snd v))). intros v _.
      apply intg_scal, intg_pos. eapply intg_ext; [ | exact (intg_lin _ I a (- (b / snd v)) p q Hp Hq) ].
      intro x; unfold Rdiv; ring.
  Qed.

  Lemma int_homogeneous F a b : 0 < a -> int I (fun x => homogeneous F (a * p x) (b * q x))
    = a * (base F + lsum (fun v => fst v * hockey I (b / a / snd v) p q) (atoms F)).
  Proof.
    intro Ha. destruct Dp as (_ & Hp & Ip), Dq as (_ & Hq & _).
    rewrite (int_ext I _ (fun x => a * (base F * p x
      + lsum (fun v => fst v * pos (p x - b / a / snd v * q x)) (atoms F)))).
    - assert (Hl : intg I (fun x => lsum (fun v => fst v * pos (p x - b / a / snd v * q x)) (atoms F)))
        by (apply (intg_sum I (fun v x => fst v * pos (p x - b / a / snd v * q x)));
            intros; now apply intg_scal, intg_hockey).
      rewrite int_scal by (apply intg_plus; [ now apply intg_scal | exact Hl ]).
      rewrite int_plus by ((now apply intg_scal) || exact Hl). rewrite int_scal, Ip by assumption.
      rewrite (int_sum I (fun v x => fst v * pos (p x - b / a / snd v * q x)))
        by (intros; now apply intg_scal, intg_hockey).
      f_equal. f_equal; [ ring | ]. apply lsum_ext; intros v _.
      rewrite int_scal by now apply intg_hockey. reflexivity.
    - apply intg_homogeneous.
    - intro x. unfold homogeneous. rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ].
      apply lsum_ext; intros v _.
      replace (a * p x - b * q x / snd v) with (a * (p x - b / a / snd v * q x))
        by (unfold Rdiv; set (r := / snd v); field; lra).
      rewrite pos_scale by lra; ring.
  Qed.

  (* One step: the expectation of a later bound F is at most the next bound F'. *)
  Lemma dominated_step N K tau F F' a b :
    (0 < N)%nat -> 0 <= tau -> proper F -> proper F' -> dominated I N K tau p q ->
    (forall i, (i < N)%nat -> proper (K i) /\ forall y, 0 <= y -> pos (1 - y) <= value (K i) y) ->
    (forall i y, (i < N)%nat -> 0 <= y -> value (product (K i) F) y <= value F' y) ->
    0 <= a -> 0 <= b ->
    int I (fun x => homogeneous F (a * p x) (b * q x)) <= homogeneous F' a b + tau * a.
  Proof.
    intros HN Htau PF PF' (lam & Lpos & Lone & Dom) HK Hnext Ha Hb.
    destruct (Rle_lt_or_eq_dec 0 a Ha) as [ Ha' | <- ].
    2: { rewrite homogeneous_zero, Rmult_0_r, Rplus_0_r by assumption. right.
    transitivity (int I (fun _ => 0)); [ | apply int_zero ].
         apply int_ext; [ apply intg_homogeneous | ]. intro x; cbv beta. replace (0 * p x) with 0 by ring.
         apply homogeneous_zero; [ assumption | ].
         apply Rmult_le_pos; [ assumption | apply Dq ]. }
    rewrite int_homogeneous, homogeneous_value by assumption.
    set (y := b / a). assert (Hy : 0 <= y) by (apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]).
    rewrite (Rmult_comm tau), <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [ assumption | ].
    set (L := lsum lam (seq 0 N)) in *.
    assert (Dom' : forall y, 0 <= y -> hockey I y p q
      <= lsum (fun i => lam i * value (K i) y) (seq 0 N) + (1 - L) * pos (1 - y) + tau).
    { intros z [ Hz | <- ]; [ now apply Dom | ].
      rewrite (lsum_ext _ lam).
      - fold L. rewrite Rminus_0_r, pos_of_nonneg by lra.
        assert (hockey I 0 p q = 1) as ->; [ | lra ].
        destruct Dp as (Pp & Hp & <-). symmetry. apply int_ext; [ assumption | ].
        intro x. rewrite Rmult_0_l, Rminus_0_r, pos_of_nonneg; auto.
      - intros i Hi%in_seq. rewrite value_zero; [ ring | apply HK; lia ]. }
    apply Rle_trans with (base F + lsum (fun v => fst v * (lsum (fun i => lam i * value (K i) (y / snd v)) (seq 0 N)
      + (1 - L) * pos (1 - y / snd v) + tau)) (atoms F)).
    { apply Rplus_le_compat_l, lsum_le; intros v Hv. destruct (proj1 (proj2 PF) v Hv).
      apply Rmult_le_compat_l; [ assumption | ]. apply Dom'.
      apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ]. }
    assert (E : base F + lsum (fun v => fst v * (lsum (fun i => lam i * value (K i) (y / snd v)) (seq 0 N)
      + (1 - L) * pos (1 - y / snd v) + tau)) (atoms F)
      = lsum (fun i => lam i * value (product (K i) F) y) (seq 0 N) + (1 - L) * value F y + tau * lsum fst (atoms F)).
    { rewrite (lsum_ext (fun i => lam i * value (product (K i) F) y)
        (fun i => base F * lam i + lsum (fun v => fst v * (lam i * value (K i) (y / snd v))) (atoms F))).
      2: { intros i Hi%in_seq. rewrite product_second_form by (assumption || (apply HK; lia)).
           rewrite Rmult_plus_distr_l, <- lsum_scal. f_equal; [ ring | ]. apply lsum_ext; intros; ring. }
      rewrite lsum_plus, lsum_scal, lsum_swap. fold L.
      change (value F y) with (base F + lsum (fun v => fst v * pos (1 - y / snd v)) (atoms F)).
      rewrite (lsum_ext (fun v => fst v * _) (fun v => (lsum (fun i => fst v * (lam i * value (K i) (y / snd v)))
        (seq 0 N)
        + (1 - L) * (fst v * pos (1 - y / snd v))) + tau * fst v)) by (intros; rewrite lsum_scal; ring).
      rewrite !lsum_plus, !lsum_scal. change (lsum (fun v => fst v) (atoms F)) with (lsum fst (atoms F)). ring. }
    rewrite E.
    assert (HFF : value F y <= value F' y).
    { eapply Rle_trans; [ apply (product_above F (K 0%nat)) | apply Hnext ]; try assumption; apply HK; lia. }
    assert (HL : lsum (fun i => lam i * value (product (K i) F) y) (seq 0 N) <= value F' y * L).
    { unfold L. rewrite <- lsum_scal. apply lsum_le; intros i Hi%in_seq.
      rewrite (Rmult_comm (value F' y)). apply Rmult_le_compat_l; [ apply Lpos | apply Hnext; [ lia | assumption ] ]. }
    assert ((1 - L) * value F y <= (1 - L) * value F' y) by (apply Rmult_le_compat_l; lra).
    assert (tau * lsum fst (atoms F) <= tau * 1)
      by (apply Rmult_le_compat_l; [ assumption | destruct PF as (? & _ & ?); lra ]).
    lra.
  Qed.
End Step.

(** Settles: COMPOSITION. If every step, whatever the past, is dominated by the list of profiles K k 0 .. K k (N-1)
    (k steps being still to come), and F is a recursion with F (k+1) >= (K k i) F k for every i, then T
    steps have H_y <= F T y + T tau. *)
Theorem adaptive_composition :
  forall {X : Type} (I : integral X) (T N : nat) (p q : list X -> X -> R)
    (K : nat -> nat -> profile) (F : nat -> profile) (tau : R),
  (forall h, density I (p h)) -> (forall h, density I (q h)) ->
  (0 < N)%nat -> 0 <= tau ->
  (forall k i, (k < T)%nat -> (i < N)%nat ->
     proper (K k i) /\ forall y, 0 <= y -> pos (1 - y) <= value (K k i) y) ->
  (forall k, (k <= T)%nat -> proper (F k)) ->
  (forall y, 0 <= y -> pos (1 - y) <= value (F O) y) ->
  (forall k i y, (k < T)%nat -> (i < N)%nat -> 0 <= y -> value (product (K k i) (F k)) y <= value (F (S k)) y) ->
  (forall k h, (length h + S k = T)%nat -> dominated I N (K k) tau (p h) (q h)) ->
  forall y, 0 <= y -> sections I T (fun h => pos (joint p h - y * joint q h)) ->
  composed I T y p q <= value (F T) y + INR T * tau.
Proof.
  intros X I T N p q K F tau Dp Dq HN Htau HK PF HF0 HF Dom y Hy Sec.
  assert (Main : forall k h, (length h + k = T)%nat ->
    iterated I k h (fun h => pos (joint p h - y * joint q h))
    <= homogeneous (F k) (joint p h) (y * joint q h) + INR k * tau * joint p h).
  { induction k as [ | k IH ]; intros h Hk.
    - simpl iterated. simpl INR. rewrite !Rmult_0_l, Rplus_0_r.
      assert (Pa : 0 <= joint p h) by (apply joint_nonneg; intros; apply Dp).
      assert (Pb : 0 <= y * joint q h) by (apply Rmult_le_pos; [ assumption | ]; apply joint_nonneg; intros; apply Dq).
      destruct Pa as [ Pa | <- ].
      + rewrite homogeneous_value by (assumption || apply PF; lia).
        replace (joint p h - y * joint q h) with (joint p h * (1 - y * joint q h / joint p h)) by (field; lra).
        rewrite pos_scale by lra. apply Rmult_le_compat_l; [ lra | ]. apply HF0.
        apply Rmult_le_pos; [ assumption | left; now apply Rinv_0_lt_compat ].
      + rewrite homogeneous_zero by (assumption || apply PF; lia). rewrite pos_of_nonpos; lra.
    - simpl iterated. destruct (Dp h) as (Pp & Hp & Ip).
      apply Rle_trans with (int I (fun x => homogeneous (F k) (joint p h * p h x) (y * joint q h * q h x)
        + INR k * tau * joint p h * p h x)).
      + apply int_le.
        * apply Sec; assumption.
        * apply intg_plus; [ now apply intg_homogeneous | now apply intg_scal ].
        * intro x. eapply Rle_trans; [ apply IH; simpl; lia | ]. simpl joint.
          right. rewrite <- !Rmult_assoc. ring.
      + rewrite int_plus by (now apply intg_homogeneous || now apply intg_scal).
        rewrite int_scal, Ip by assumption. rewrite S_INR.
        assert (Hs : int I (fun x => homogeneous (F k) (joint p h * p h x) (y * joint q h * q h x))
          <= homogeneous (F (S k)) (joint p h) (y * joint q h) + tau * joint p h).
        { apply (dominated_step I (p h) (q h) (Dp h) (Dq h) N (K k)); auto.
          - apply PF; lia.
          - apply PF; lia.
          - intros; apply HK; lia.
          - intros; apply HF; (lia || assumption).
          - apply joint_nonneg; intros; apply Dp.
          - apply Rmult_le_pos; [ assumption | apply joint_nonneg; intros; apply Dq ]. }
        lra. }
  eapply Rle_trans; [ apply (Main T []); reflexivity | ]. simpl joint.
  rewrite homogeneous_value by (lra || apply PF; lia). replace (y * 1 / 1) with y by field. lra.
Qed.
