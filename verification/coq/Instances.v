(* The assumptions about integrals, kernels, vectors and expectations are satisfiable: finite sums satisfy all of them.
   With finitely many outcomes every function is integrable, so that the theorems then assume nothing about
   measurability. *)

From Coq Require Import Reals Lra List Lia Bool.
From DPADMM Require Export Triples Ville.
Import ListNotations.
Open Scope R_scope.

(** Settles: HOCKEY-STICK. Finite weighted sums are an integral, for which every function is integrable. *)
Theorem finite_sums_are_integrals :
  forall (X : Type) (points : list (R * X)), (forall wx, In wx points -> 0 <= fst wx) ->
  exists I : integral X,
  (forall f, intg I f) /\ (forall f, int I f = lsum (fun wx => fst wx * f (snd wx)) points).
Proof. intros X points H. exists (finite_integral points H). split; [ intro; exact Logic.I | reflexivity ]. Qed.

(** Settles: COMPOSITION. Where every function is integrable, nothing is assumed about repeated integrals. *)
Theorem finite_sections :
  forall (X : Type) (I : integral X), (forall f, intg I f) -> forall T f, sections I T f.
Proof. intros X I H T f k h _. apply H. Qed.

(** Settles: HOCKEY-STICK. Every stochastic matrix W between finite sets is a kernel. *)
Theorem stochastic_matrices_are_kernels :
  forall (X X' : Type) (points : list X) (points' : list X') (W : X -> X' -> R),
  (forall x x', 0 <= W x x') -> (forall x, lsum (W x) points' = 1) ->
  exists (I : integral X) (I' : integral X'),
  (forall f, intg I f) /\ (forall f, int I f = lsum f points) /\ (forall f, int I' f = lsum f points') /\
  kernel I I' (fun f x' => lsum (fun x => W x x' * f x) points).
Proof.
  intros X X' points points' W W0 W1.
  assert (C : forall (Y : Type) (l : list Y), exists I : integral Y, (forall f, intg I f) /\
    (forall f, int I f = lsum f l)).
  { intros Y l. destruct (finite_sums_are_integrals Y (map (fun y => (1, y)) l)) as (I & H1 & H2).
    - intros wx Hw. apply in_map_iff in Hw as (y & <- & _). simpl; lra.
    - exists I. split; [ exact H1 | ]. intro f. rewrite H2, lsum_map. simpl. apply lsum_ext; intros; ring. }
  destruct (C X points) as (I & HI & EI), (C X' points') as (I' & HI' & EI'). exists I, I'. repeat split; auto.
  - intros a b f g x _ _. rewrite <- !lsum_scal, <- lsum_plus. apply lsum_ext; intros; ring.
  - intros f x _ Hf. apply lsum_nonneg; intros. now apply Rmult_le_pos.
  - intros f _ _. rewrite EI, EI'. rewrite lsum_swap. right. apply lsum_ext; intros x _.
    rewrite (lsum_ext _ (fun x' => f x * W x x')) by (intros; ring). rewrite lsum_scal.
    rewrite (W1 x). ring.
Qed.

(** Settles: TRIPLES. There are vectors with an integral that does not change under shifts: bits under exclusive or. *)
Theorem bits_are_vectors :
  exists I : integral bool,
  (forall f, intg I f) /\ (forall f, int I f = f true + f false) /\ vector_space I false xorb xorb /\
  forall a, 0 <= a <= 1 -> density I (fun b => if b then a else 1 - a).
Proof.
  destruct (finite_sums_are_integrals bool [(1, true); (1, false)]) as (I & H1 & H2).
  { intros wx [ <- | [ <- | [] ] ]; simpl; lra. }
  assert (E : forall f, int I f = f true + f false) by (intro f; rewrite H2; simpl; ring).
  exists I. repeat split; auto.
  - intros [] [] []; reflexivity.
  - intros [] [] []; reflexivity.
  - intros f [] _; rewrite !E; simpl; ring.
  - intros []; lra.
  - rewrite E. lra.
Qed.

(** Settles: VILLE. There is an expectation, and a supermartingale that is no constant: a fair game of heads or tails in
    which all is staked each time. *)
Theorem fair_game :
  exists (E : integral bool),
  expectation E /\ supermartingale (fun _ => E) (fix W (h : list bool) := match h with [] => 1 | b :: h' => if b then 2
    * W h' else 0 end).
Proof.
  destruct (finite_sums_are_integrals bool [(1 / 2, true); (1 / 2, false)]) as (I & H1 & H2).
  { intros wx [ <- | [ <- | [] ] ]; simpl; lra. }
  exists I. split; [ split; [ apply H1 | rewrite H2; simpl; lra ] | ]. constructor.
  - induction h as [ | [] h IH ]; lra.
  - intro; apply H1.
  - intro h. rewrite H2. simpl. lra.
Qed.
