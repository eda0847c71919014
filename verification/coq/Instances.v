(* The hypotheses of theorems can be met. Finite sums satisfy all that is assumed about integrals, vectors and
   expectations. For every theorem with a long list of hypotheses the constant [at_] and its name applies it to values
   that satisfy all of them: a coin that both data sets release, bits as vectors, bets on the coin, runs in one
   dimension. *)

From Coq Require Import Reals Lra Lia List Bool ZArith QArith Permutation.
From Coquelicot Require Import Coquelicot.
From DPADMM Require Import Vectors Algorithm InnerProduct Prox Gradients SoftThreshold Epoch Baselines Printed Rationals.
From DPADMM Require Import Integral Batches HockeyStick Profiles Composition Subsampling Triples StepFormula Powers.
From DPADMM Require Import Renyi Epochs Ville Leader Lattice Releases Amplified EndToEnd.
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

(* Two records, +1 and -1 as gradients in one dimension; replacing the first changes the mean by 1. *)
Definition gradient_of (d : bool) (x : nat -> R) (i : nat) : R := if d then 1 else -1.
Definition other (i : nat) : bool := match i with O => false | S _ => true end.
Lemma short : forall d x, Vectors.norm 1 (gradient_of d x) <= 1.
Proof.
  intros d x. unfold Vectors.norm, sq, dot. apply Rsqr_incr_0_var; [|lra]. rewrite Rsqr_sqrt; destruct d; simpl; unfold Rsqr; lra.
Qed.

Lemma adjacent : neighbours 2 0 (fun _ => true) other.
Proof. split; [lia|]. intros [|i] _ H; [congruence|reflexivity]. Qed.

Lemma two_records : batch_of 2 2 (fun r => r).
Proof. split; [intros r H; exact H|]. intros r s _ _ H. exact H. Qed.

Definition first_state : state reals := State reals (fun _ => 1) (fun _ => 2) (fun _ => 3).

(* The regularizer 0, whose proximal map is the identity. *)
Lemma nothing_is_convex : @convex (coordinates 1) (fun _ => True) (fun _ => 0).
Proof. intros u v t _ _ H. split; [exact Logic.I|lra]. Qed.

Lemma identity_is_prox (rho : R) : 0 < rho -> forall w, @is_prox (coordinates 1) (fun _ => True) (fun _ => 0) rho w w.
Proof.
  intros H w. split; [exact Logic.I|]. intros u _. unfold squared, InnerProduct.minus. simpl. unfold dot. simpl.
  assert (0 <= rho / 2) by lra. pose proof (Rle_0_sqr (u 0%nat + -1 * w 0%nat)) as S. unfold Rsqr in S. nra.
Qed.

(* A fair coin, released by both data sets. *)
Definition coin : integral bool.
Proof. refine (finite_integral [(1, true); (1, false)] _). intros wx [ <- | [ <- | [] ] ]; simpl; lra. Defined.

Lemma toss f : int coin f = f true + f false.
Proof. simpl. ring. Qed.

Lemma tossed f : intg coin f.
Proof. exact Logic.I. Qed.

Definition half (b : bool) : R := 1 / 2.
Lemma half_pos b : 0 < half b.
Proof. unfold half. lra. Qed.

Lemma half_density : density coin half.
Proof. repeat split; try apply tossed; [ intro; unfold half; lra | rewrite toss; unfold half; lra ]. Qed.

Lemma same_halves y : hockey coin y half half = Integral.pos (1 - y).
Proof.
  unfold hockey. rewrite toss. unfold half. replace (1 / 2 - y * (1 / 2)) with (1 / 2 * (1 - y)) by field.
  rewrite pos_scale by lra. field.
Qed.

(* Adaptive steps that release the coin, whatever the batch. *)
Lemma all_sections T f : sections coin T f.
Proof. intros k h _. apply tossed. Qed.

Lemma halves_composed T y : 0 <= y -> composed coin T y (fun _ => half) (fun _ => half) = Integral.pos (1 - y).
Proof.
  intro Hy. unfold composed. set (p := fun _ : list bool => half).
  assert (E : forall k h, iterated coin k h (fun h => Integral.pos (joint p h - y * joint p h)) = joint p h * Integral.pos (1 - y)).
  { induction k as [ | k IH ]; intro h; cbn [iterated].
    - replace (joint p h - y * joint p h) with (joint p h * (1 - y)) by ring. apply pos_scale.
      apply joint_nonneg. intros; unfold p, half; lra.
    - rewrite toss, !IH. cbn [joint]. unfold p at 2 4, half. field. }
  rewrite E. simpl. ring.
Qed.

Lemma constant_batch (m : nat) (l : list bool) (x : bool) : (m <= Datatypes.length l)%nat -> on_batch m l (fun _ => half) x = half x.
Proof. intro H. unfold on_batch, batch_mean. rewrite lsum_const. fold (count m l). pose proof (count_pos m l H). field. lra. Qed.

Lemma halves_shift : vector_space coin false xorb xorb.
Proof.
  constructor; try (intros [] [] []; reflexivity); try (intros; apply tossed). intros f [] _; rewrite !toss; simpl; ring.
Qed.

(* The profile without loss, which bounds them. *)
Lemma unit_above z : 0 <= z -> Integral.pos (1 - z) <= value unit_profile z.
Proof. intros _. rewrite unit_value. lra. Qed.

Lemma nothing_lost q z : 0 < q -> 1 <= z -> Integral.pos (1 - (1 + (z - 1) / q)) = 0.
Proof.
  intros Hq Hz. apply pos_of_nonpos. assert (0 <= (z - 1) / q); [ | lra ].
  apply Rmult_le_pos; [ lra | left; now apply Rinv_0_lt_compat ].
Qed.

Lemma two_thirds : 0 < INR 2 / INR 3.
Proof. simpl. lra. Qed.

Lemma one_over z : 0 < z < 1 -> 1 <= 1 / z.
Proof. intro H. apply Rmult_le_reg_r with z; [ lra | ]. replace (1 / z * z) with 1 by (field; lra). lra. Qed.

Lemma above_one z : 1 <= z -> INR 2 / INR 3 * Integral.pos (1 - (1 + (z - 1) / (INR 2 / INR 3))) <= value unit_profile z + 0.
Proof. intro Hz. rewrite nothing_lost by (apply two_thirds || assumption). rewrite unit_value. pose proof (pos_nonneg (1 - z)). lra. Qed.

Lemma below_one z : 0 < z < 1 -> 1 - z + z * (INR 2 / INR 3 * Integral.pos (1 - (1 + (1 / z - 1) / (INR 2 / INR 3))))
  <= value unit_profile z + 0.
Proof. intro Hz. rewrite nothing_lost by (apply two_thirds || now apply one_over). rewrite unit_value. pose proof (pos_ge (1 - z)). lra. Qed.

Lemma unit_leads (k i : nat) y : (k < 2)%nat -> (i < 1)%nat -> 0 <= y -> value (product unit_profile unit_profile) y <= value unit_profile y.
Proof. intros _ _ _. right. apply product_unit_left, unit_proper. Qed.

Lemma halves_dominated : dominated coin 1 (fun _ => unit_profile) 0 half half.
Proof.
  exists (fun _ => 1). repeat split; [ intros; lra | simpl; lra | ]. intros y Hy. cbn [lsum seq]. rewrite same_halves, unit_value. lra.
Qed.

Lemma mixture_cost : int coin (fun x => half x * Integral.pos (1 - 1 * half x / half x)) <= 0.
Proof. rewrite toss. unfold half. replace (1 - 1 * (1 / 2) / (1 / 2)) with 0 by field. rewrite pos_of_nonneg; lra. Qed.

(* Vectors are bits under exclusive or; every triple releases the coin. *)
Lemma same_triple r c a x : triple xorb half r c a x = 1 / 2.
Proof. unfold triple, half. field. Qed.

Lemma triples_cost r c a a' (F : R -> R) y :
  int coin (fun x => triple xorb half r c a x * F (y * triple xorb half r c a' x / triple xorb half r c a x)) = F y.
Proof. rewrite toss, !same_triple. replace (y * (1 / 2) / (1 / 2)) with y by field. field. Qed.

Definition loss (y : R) : R := Integral.pos (1 - y).
Lemma halves_bounded k (F : R -> R) : (forall y, 0 <= y -> loss y <= F y) ->
  Leader.bounded coin false xorb xorb half (fun _ => True) 1 true false [true; false] k F.
Proof.
  intros HF g _ p _ y Hy.
  assert (E : forall r, p r = fun _ => half).
  { intro r. apply FunctionalExtensionality.functional_extensionality. intro h.
    apply FunctionalExtensionality.functional_extensionality. intro x. apply (constant_batch 2 [r; true; false] x). simpl. lia. }
  rewrite !E, halves_composed by assumption. split; now apply HF.
Qed.

Lemma no_less y : 0 <= y -> loss y <= loss y.
Proof. intros _. apply Rle_refl. Qed.

Lemma led_by (F F' : R -> R) r y : F y <= F' y -> led coin xorb half (fun _ => True) r F F' y.
Proof. intros H c a a' _ _ _. split; [ apply tossed | ]. now rewrite triples_cost. Qed.

Lemma loss_reversed y : 0 < y < 1 -> reversed loss y <= loss y.
Proof.
  intro Hy. unfold reversed, loss. assert (1 <= 1 / y).
  { apply Rmult_le_reg_r with y; [ lra | ]. replace (1 / y * y) with 1 by (field; lra). lra. }
  rewrite (pos_of_nonpos (1 - 1 / y)) by lra. pose proof (pos_ge (1 - y)). lra.
Qed.

Lemma whole_loss : 1 <= loss 0.
Proof. unfold loss. rewrite Rminus_0_r. apply pos_ge. Qed.

Lemma through_unit F y : through unit_profile F y = F y.
Proof. unfold through. simpl. replace (y / 1) with y by field. ring. Qed.

Lemma unit_atoms a : In a (atoms unit_profile) -> 0 <= fst a /\ 0 < snd a.
Proof. intros [ <- | [] ]. simpl. lra. Qed.

Lemma triple_hockey r c a a' : (fun y => hockey coin y (triple xorb half r c a) (triple xorb half r c a')) = loss.
Proof.
  apply FunctionalExtensionality.functional_extensionality. intro y. unfold hockey. rewrite toss, !same_triple. unfold loss.
  replace (1 / 2 - y * (1 / 2)) with (1 / 2 * (1 - y)) by field. rewrite pos_scale by lra. field.
Qed.

Lemma loss_smooth : smooth loss.
Proof. rewrite <- (triple_hockey 0 true true true). apply hockey_smooth; (apply (triple_density coin false xorb xorb); [ apply halves_shift | apply half_density | lra ]). Qed.

Lemma on_a_window K y : on_windows K 1 [(0, 1)] y = 1.
Proof. unfold on_windows. simpl. ring. Qed.

Lemma on_a_stair K y : on_stairs K 0 1 [(0, 1)] y = 1.
Proof. unfold on_stairs. simpl. ring. Qed.

Lemma loss_at_most_1 y : 0 <= y -> 0 <= loss y <= 1.
Proof. intro Hy. unfold loss. split; [ apply pos_nonneg | apply pos_least; lra ]. Qed.

Lemma triple_cost r c a a' :
  int coin (fun x => triple xorb half r c a x * Integral.pos (1 - 1 * triple xorb half r c a' x / triple xorb half r c a x)) <= 0.
Proof. rewrite (triples_cost r c a a' (fun y => Integral.pos (1 - y)) 1), pos_of_nonpos; lra. Qed.

(* Bets on the coin. *)
Definition fair : integral bool.
Proof. refine (finite_integral [(1 / 2, true); (1 / 2, false)] _). intros wx [ <- | [ <- | [] ] ]; simpl; lra. Defined.

Lemma fair_mean f : int fair f = (f true + f false) / 2.
Proof. simpl. field. Qed.

Lemma fair_intg f : intg fair f.
Proof. exact Logic.I. Qed.

Lemma fair_expectation : expectation fair.
Proof. split; [ apply fair_intg | rewrite fair_mean; lra ]. Qed.

Definition heads (b : bool) : R := if b then 1 else 0.
Lemma heads_range b : 0 <= heads b <= 1.
Proof. destruct b; simpl; lra. Qed.

Lemma nothing_gained : int fair (payoff 0 0 heads heads) <= 0.
Proof. rewrite fair_mean. unfold payoff. rewrite exp_0. simpl. lra. Qed.

Lemma risk : lsum (fun _ : unit => 1 / 2 * (exp 0 + 0)) [tt] <= 1.
Proof. cbn [lsum]. rewrite exp_0. lra. Qed.

Lemma as_likely : int fair heads = int coin (fun o => half o * heads o).
Proof. rewrite fair_mean, toss. unfold half. simpl. lra. Qed.

Lemma half_hockey : hockey coin (exp 0) half half <= 0.
Proof. rewrite same_halves, exp_0, pos_of_nonneg; lra. Qed.

(* The coin's Renyi moments. *)
Lemma half_power a b : power_term a (half b) (half b) = 1 / 2.
Proof. unfold power_term, half. rewrite <- Rpower_plus. replace (a + (1 - a)) with 1 by ring. apply Rpower_1. lra. Qed.

Lemma half_moment a : moment coin a half half = 1.
Proof. unfold moment. rewrite toss, !half_power. lra. Qed.

Lemma half_renyi : moment coin 2 half half <= exp ((2 - 1) * 0).
Proof. rewrite half_moment, Rmult_0_r, exp_0. lra. Qed.

Lemma coin_complete : complete coin.
Proof. intros f g _ _. apply tossed. Qed.

(* Runs of the algorithms, and a test of what they release. *)
Definition tested (states : list (state reals)) : R := 1 / 2.
Lemma tested_range states : 0 <= tested states <= 1.
Proof. unfold tested. lra. Qed.

Lemma steps_pos (k : nat) : 0 < 1.
Proof. lra. Qed.

Lemma identity_steep v v' : v <= v' -> 0 <= v' - v <= 1 * (v' - v).
Proof. lra. Qed.

(* What is computed from the coin: nothing. *)
Definition atom : integral unit.
Proof. refine (finite_integral [(1, tt)] _). intros wx [ <- | [] ]; simpl; lra. Defined.

Lemma only_atom : processed coin atom (fun f _ => f tt) half (fun _ => 1).
Proof. intros phi _ _. split; [ apply tossed | ]. rewrite toss. unfold half. simpl. field. Qed.

(* A stair of height 0. *)
Lemma no_stair : is_lim_seq (fun n => spread (fun _ => 0) 0 (- INR n) 1 1) 0.
Proof.
  apply is_lim_seq_ext with (fun _ => 0); [ | apply is_lim_seq_const ]. intro n. unfold spread.
  rewrite (RInt_ext _ (fun _ => 0)) by (intros; apply Rmult_0_r). rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
Qed.

(* ---- The instances. ---- *)

Definition at_z_sensitivity := @DPADMM.Epoch.z_sensitivity bool gradient_of 1 1 2 0 (fun _ => true) other 2 1 first_state
  ltac:(lra) ltac:(lra) ltac:(lra) (fun d => short d _) adjacent
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_y_sensitivity := @DPADMM.Epoch.y_sensitivity bool gradient_of 1 1 2 0 (fun _ => true) other 2 1 first_state
  ltac:(lra) ltac:(lra) ltac:(lra) (fun d => short d _) adjacent
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_joint_sensitivity := @DPADMM.Epoch.joint_sensitivity bool gradient_of 1 1 2 0 (fun _ => true) other 2 1 first_state
  ltac:(lra) ltac:(lra) ltac:(lra) (fun d => short d _) adjacent
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_printed_bounds_for_small_steps := @DPADMM.Epoch.printed_bounds_for_small_steps bool gradient_of 1 1 2 0 (fun _ => true) other 2 1 first_state
  ltac:(lra) ltac:(lra) ltac:(lra) (fun d => short d _) adjacent
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)) ltac:(lra).

Definition at_z_moves_no_further := @DPADMM.Epoch.z_moves_no_further bool gradient_of 1 2 (fun _ => true) other 2 1 first_state ltac:(lra)
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_y_moves_no_further := @DPADMM.Epoch.y_moves_no_further bool gradient_of 1 2 (fun _ => true) other 2 1 first_state ltac:(lra)
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_joint_relative := @DPADMM.Epoch.joint_relative bool gradient_of 1 2 (fun _ => true) other 2 1 first_state ltac:(lra)
  (fun _ => True) (fun _ => 0) (fun w => w) nothing_is_convex (identity_is_prox 2 ltac:(lra)).

Definition at_dpsgd_sensitivity := @DPADMM.Baselines.dpsgd_sensitivity bool (fun d => gradient_of d (fun _ => 0)) 1 1 2 2 0 (fun r => r)
  (fun _ => true) other 1 (fun _ => 5) (fun _ => True) (fun _ => 0) (fun w => w) ltac:(lia) ltac:(lra)
  (fun d => short d _) adjacent two_records ltac:(lra) nothing_is_convex (identity_is_prox (/ 1) ltac:(lra)).

Definition at_margin_gradient_change_sensitivity := @DPADMM.Gradients.margin_gradient_change_sensitivity bool (fun d => gradient_of d (fun _ => 0)) (fun _ => -1)
  (fun _ => 0) 1 1 2 2 0 (fun r => r) (fun _ => true) other ltac:(lia) ltac:(lra) (fun d => short d _)
  (fun _ => ltac:(lra)) (fun _ => ltac:(lra)) adjacent two_records.

Definition at_accounting_on_batches := @DPADMM.Powers.accounting_on_batches bool bool coin 1 true false [true; false] (fun _ _ => half)
  (fun y => Integral.pos (1 - y)) unit_profile 2 0 ltac:(simpl; lia) ltac:(lra) (fun _ _ => half_density) (fun _ _ _ _ _ => eq_refl)
  (fun _ z _ _ _ _ _ => Req_le _ _ (same_halves z)) unit_proper unit_above above_one below_one (3 / 2) ltac:(lra) (all_sections 2 _).

Definition at_adaptive_composition := @DPADMM.Composition.adaptive_composition bool coin 2 1 (fun _ => half) (fun _ => half) (fun _ _ => unit_profile)
  (fun _ => unit_profile) 0 (fun _ => half_density) (fun _ => half_density) ltac:(lia) ltac:(lra)
  (fun _ _ _ _ => conj unit_proper unit_above) (fun _ _ => unit_proper) unit_above unit_leads (fun _ _ _ => halves_dominated)
  (3 / 2) ltac:(lra) (all_sections 2 _).

Definition at_subsampled_profile := @DPADMM.Subsampling.subsampled_profile bool bool coin 1 true false [true; false] (fun _ => half)
  (fun y => Integral.pos (1 - y)) ltac:(simpl; lia) (fun _ => proj2 half_density) (fun _ _ _ _ => eq_refl)
  (fun y _ _ _ _ _ => Req_le _ _ (same_halves y)).

Definition at_mixture_step := @DPADMM.StepFormula.mixture_step bool unit coin 1 1 0 (fun _ => half) (fun _ => half) (fun y => Integral.pos (1 - y))
  (fun _ => 1) (fun _ => half) (fun _ => half) [tt] ltac:(lra) (fun _ x => conj (half_pos x) (half_pos x)) ltac:(intros; lra)
  ltac:(simpl; lra) ltac:(intro; simpl; lra) ltac:(intro; simpl; lra) (fun _ y Hy => Req_le _ _ (halves_composed 1 y Hy))
  (fun _ _ => all_sections 1 _) (all_sections 2 _)
  (fun _ _ => conj (tossed _) mixture_cost).

Definition at_reduction_to_triples := @DPADMM.StepFormula.reduction_to_triples bool bool coin false xorb xorb half (fun _ => True) 1 true false [true; false]
  (fun b => b) 1 1 0 (fun _ => half) (fun _ => half) (fun y => Integral.pos (1 - y)) halves_shift half_density half_pos (fun _ => Logic.I)
  ltac:(simpl; lia) ltac:(lra) (fun x => eq_sym (constant_batch 2 [true; true; false] x ltac:(simpl; lia)))
  (fun x => eq_sym (constant_batch 2 [false; true; false] x ltac:(simpl; lia))) (fun _ y Hy => Req_le _ _ (halves_composed 1 y Hy))
  (fun _ _ => all_sections 1 _) (all_sections 2 _)
  (fun c a a' _ _ _ => conj (tossed _) (triple_cost _ c a a')).

Definition at_single_step := @DPADMM.Leader.single_step bool bool coin false xorb xorb half (fun _ => True) 1 true false [true; false] 2
  loss loss halves_shift half_density half_pos ltac:(simpl; lia) (halves_bounded 2 loss no_less)
  (fun y _ => led_by loss loss _ y (Rle_refl _)) whole_loss loss_reversed.

Definition at_leading_block := @DPADMM.Leader.leading_block bool bool coin false xorb xorb half (fun _ => True) 1 true false [true; false] 2 3
  loss unit_profile halves_shift half_density half_pos ltac:(simpl; lia) (halves_bounded 2 loss no_less)
  ltac:(pose proof whole_loss; lra) ltac:(simpl; lra) unit_atoms ltac:(simpl; lra)
  (fun y _ => led_by loss _ _ y (Req_le _ _ (eq_sym (through_unit loss y)))).

Definition at_leader_of_single_steps := @DPADMM.Leader.leader_of_single_steps bool bool coin false xorb xorb half (fun _ => True) 1 true false [true; false] 2
  1 [(0, 1)] loss (fun _ => 1) halves_shift half_density half_pos ltac:(simpl; lia) ltac:(intros w [ <- | [] ]; simpl; lra)
  (halves_bounded 2 _ (fun y Hy => eq_ind_r (fun r => loss y <= r) (proj2 (loss_at_most_1 y Hy)) (on_a_window _ y))) loss_smooth
  ltac:(intros u a a' _ _ _; cbv zeta; rewrite triple_hockey; split; [ intros; apply Rle_refl | split; [ intros; apply Rle_refl | ] ];
    intros y _; split; [ apply tossed | ]; rewrite triples_cost; now rewrite !on_a_window)
  ltac:(intros; rewrite on_a_window; lra) ltac:(lra) ltac:(intros y Hy; unfold reversed; lra).

Definition at_leader_of_blocks := @DPADMM.Leader.leader_of_blocks bool bool coin false xorb xorb half (fun _ => True) 1 true false [true; false] 2 3
  0 1 [(0, 1)] loss unit_profile halves_shift half_density half_pos ltac:(simpl; lia) ltac:(lra) ltac:(intros w [ <- | [] ]; simpl; lra)
  (halves_bounded 2 _ (fun y Hy => eq_ind_r (fun r => loss y <= r) (proj2 (loss_at_most_1 y Hy)) (on_a_stair _ y)))
  ltac:(rewrite on_a_stair; lra) loss_smooth (fun y Hy => loss_at_most_1 y (Rlt_le _ _ Hy))
  ltac:(intros u a a' _ _ _; cbv zeta; rewrite triple_hockey; split; [ intros; apply Rle_refl | split; [ intros X e _ He; exists 0; intros; lra | ] ];
    intros y _; split; [ apply tossed | ]; rewrite triples_cost; now rewrite !on_a_stair)
  ltac:(simpl; lra) unit_atoms ltac:(simpl; lra) ltac:(intros; rewrite through_unit, !on_a_stair; lra).

Definition at_joint_betting_supermartingale := @DPADMM.Ville.joint_betting_supermartingale bool unit (fun _ => fair) [tt] (fun _ => 0) (fun _ => 0) (fun _ _ => heads) (fun _ _ => heads)
  (fun _ _ => 1 / 2) ltac:(intro; lra) (fun _ => fair_expectation) (fun _ _ x => conj (heads_range x) (heads_range x))
  (fun _ _ => conj (fair_intg _) (fair_intg _)) (fun _ _ => nothing_gained) ltac:(intros; lra) (fun _ => risk).

Definition at_false_refutations_are_rare := @DPADMM.Ville.false_refutations_are_rare bool unit (fun _ => fair) [(1, [tt])] (fun _ => 0) (fun _ => 0) (fun _ _ => heads) (fun _ _ => heads)
  (fun _ _ => 1 / 2) 3 (1 / 2) ltac:(lra) (fun _ => fair_expectation) ltac:(simpl; lra) ltac:(intros p [ <- | [] ]; simpl; lra) ltac:(intro; lra)
  (fun _ _ x => conj (heads_range x) (heads_range x))
  (fun _ _ => conj (fair_intg _) (fair_intg _)) (fun _ _ => nothing_gained) ltac:(intros; lra)
  ltac:(intros p h [ <- | [] ]; apply risk) (fun _ _ => fair_intg _).

Definition at_payoff_mean := @DPADMM.Ville.payoff_mean bool bool coin fair 0 0 half half heads heads heads fair_expectation heads_range (tossed _) (tossed _)
  (tossed _) (tossed _) (fair_intg _) (fair_intg _) as_likely as_likely half_hockey.

Definition at_renyi_accounting := @DPADMM.Renyi.renyi_accounting bool coin 2 2 (1 / 2) (fun _ => half) (fun _ => half) (fun _ => 0) ltac:(lra) ltac:(lra)
  (fun _ => half_pos) (fun _ => half_pos) (fun _ => tossed _) (all_sections 2 _) (fun _ => all_sections 2 _) (fun _ _ => half_renyi).

Definition at_epochs_cost_one_release_each := @DPADMM.Epochs.epochs_cost_one_release_each bool coin 2 1 2 2 0 (fun k => Nat.eqb (k mod 2) 0) (fun _ => half) (fun _ => half)
  ltac:(lia) (an_order_holds_a_record_once 2 1 (fun _ => 0%nat) ltac:(lia)) ltac:(lia) ltac:(lra) ltac:(lra) (fun _ => half_pos) (fun _ => half_pos) (fun _ => tossed _)
  (all_sections 2 _) (fun _ => proj2 half_density) (fun _ _ _ => half_renyi) (fun _ _ _ _ => eq_refl).

Definition at_releases_are_private := @DPADMM.Releases.releases_are_private bool coin 2 2 (1 / 2) (fun _ => half) (fun _ => half) (fun _ => 0) (fun _ => 1 / 2) coin_complete
  ltac:(lra) ltac:(lra) (fun _ => half_pos) (fun _ => half_pos) (fun _ => half_density) (fun _ => half_density) (fun _ => tossed _)
  (fun _ => half_renyi) ltac:(intro; lra).

Definition at_lemma2_without_replacement := @DPADMM.Amplified.lemma2_without_replacement bool bool coin 1 2 true false [true; false] (fun _ => half) (fun _ => 1) coin_complete
  ltac:(simpl; lia) ltac:(lia) (fun _ => half_pos) (fun _ => half_density) (fun _ _ _ _ => eq_refl) ltac:(intro; lra)
  (fun _ _ _ j _ _ => conj (tossed _) (Req_le _ _ (half_moment (INR j)))).

Definition at_claim_bounds_every_processed_test := @DPADMM.HockeyStick.claim_bounds_every_processed_test bool bool coin 0 0 half half (fun f b => f b) heads (fun f b H => H b) heads_range (tossed _)
  (tossed _) (tossed _) (tossed _) half_hockey.

Definition at_hockey_post_processing := @DPADMM.HockeyStick.hockey_post_processing bool unit coin atom (fun f _ => f tt) 2 half half (fun _ => 1) (fun _ => 1) (fun f _ H => H tt)
  only_atom only_atom (tossed _) (tossed _) Logic.I Logic.I Logic.I Logic.I.

Definition at_printed_with_the_next_step := @DPADMM.Printed.printed_with_the_next_step 1 1 1 1 1 1 1 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lia) ltac:(lia).

Definition at_stairs_order := @DPADMM.Leader.stairs_order (fun _ => 0) (fun _ => 0) 0 1 ltac:(intros y _; apply continuous_const) ltac:(intros y _; apply continuous_const)
  (fun _ _ => Rle_refl 0) ltac:(intros X e _ He; exists 0; intros; lra) 1 0 0 ltac:(lra) no_stair no_stair.

Definition at_mpADMM_is_private := @DPADMM.EndToEnd.mpADMM_is_private bool gradient_of 1 1 [true] [false] true false (fun _ => True) (fun _ => 0) (fun w _ => w) 2 (fun _ => 1)
  (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(lra) steps_pos ltac:(lra) short nothing_is_convex (identity_is_prox 2 ltac:(lra)) ltac:(lra) ltac:(lra) ltac:(lia)
  ltac:(lra) tested_range.

Definition at_mpADMM_is_private_where_prox_stretches := @DPADMM.EndToEnd.mpADMM_is_private_where_prox_stretches bool gradient_of 1 1 [true] [false] true false (fun v _ => v) 1 2 (fun _ => 1)
  (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(lra) steps_pos ltac:(lra) short ltac:(lra) identity_steep ltac:(lra) ltac:(lra) ltac:(lia)
  ltac:(lra) tested_range.

Definition at_mpADMM_primal_is_private := @DPADMM.EndToEnd.mpADMM_primal_is_private bool gradient_of 1 1 [true] [false] true false (fun w _ => w) 2 (fun _ => 1)
  (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(lra) steps_pos ltac:(lra) short ltac:(lra) ltac:(lra) ltac:(lia) ltac:(lra) tested_range.

Definition at_ssADMM_is_private := @DPADMM.EndToEnd.ssADMM_is_private bool gradient_of 1 1 1 [true] [false] true false (fun w _ => w) 2 (fun _ => 1)
  (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(simpl; lia) ltac:(lra) short ltac:(lra) ltac:(lra) ltac:(lia) ltac:(lra) tested_range.

Definition at_mpADMM_with_clipping_is_private := @DPADMM.EndToEnd.mpADMM_with_clipping_is_private (fun _ => -1) 1 (DPADMM.Penalties.scad 1 4) 1
  [fun _ => 3] [fun _ => 1] (fun _ => 2) (fun _ => 4) 2 (fun _ => 1) (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(lra) steps_pos ltac:(lra)
  ltac:(cbn [DPADMM.Penalties.admitted]; lra) ltac:(lra) ltac:(lra) ltac:(lia) ltac:(lra) tested_range.

Definition at_mpADMM_primal_with_clipping_is_private := @DPADMM.EndToEnd.mpADMM_primal_with_clipping_is_private (fun _ => -1) 1 1 [fun _ => 3] [fun _ => 1]
  (fun _ => 2) (fun _ => 4) (fun w _ => w) 2 (fun _ => 1) (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(lra) steps_pos ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lia)
  ltac:(lra) tested_range.

Definition at_ssADMM_with_clipping_is_private := @DPADMM.EndToEnd.ssADMM_with_clipping_is_private (fun _ => -1) 1 1 1 [fun _ => 3] [fun _ => 1] (fun _ => 2) (fun _ => 4) (fun w _ => w) 2 (fun _ => 1)
  (1 / 8) 1 first_state 3 2 (1 / 10) tested ltac:(simpl; lia) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lia) ltac:(lra) tested_range.

Definition at_ssadmm_agrees := @DPADMM.Rationals.ssadmm_agrees bool bool (fun d => d) (fun w _ => w) (fun w _ => w) (fun _ x => x) (fun _ x => x) (fun _ _ => eq_refl) (fun _ _ => eq_refl)
  (1 # 2)%Q 1 (Some (1 # 8)%Q) (fun _ => 1%Q) [true; false] (State rationals (fun _ => 1%Q) (fun _ => 2%Q) (fun _ => 3%Q)) [([0%nat], fun _ => (1 # 4)%Q)].

Definition at_mpadmm_all_agrees := @DPADMM.Rationals.mpadmm_all_agrees bool bool (fun d => d) (fun w _ => w) (fun w _ => w) (fun _ x => x) (fun _ x => x) (fun _ _ => eq_refl) (fun _ _ => eq_refl)
  (1 # 2)%Q 1 (Some (1 # 8)%Q) (fun _ => 1%Q) [true; false] (State rationals (fun _ => 1%Q) (fun _ => 2%Q) (fun _ => 3%Q))
  [State rationals (fun _ => 1%Q) (fun _ => 2%Q) (fun _ => 3%Q)].

Definition at_mpadmm_primal_agrees := @DPADMM.Rationals.mpadmm_primal_agrees bool bool (fun d => d) (fun w _ => w) (fun w _ => w) (fun _ x => x) (fun _ x => x) (fun _ _ => eq_refl) (fun _ _ => eq_refl)
  (1 # 2)%Q 1 (Some (1 # 8)%Q) (fun _ => 1%Q) [true; false] (State rationals (fun _ => 1%Q) (fun _ => 2%Q) (fun _ => 3%Q)) [fun _ => (1 # 4)%Q].
